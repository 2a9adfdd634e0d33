"""The HTTP port: health, metrics, the JSON API, the event stream and the console.

root       listener, serving, app, guard: composition         api        endpoints, one module per resource
live       the console's WebSocket and the event history      lake       lake reports, read by a separate process
auth       authentication, sessions, login throttling         views      from the route tables to response types
transport  uvicorn subclasses, ASGI, static files             root       context, errors, thread_pool: vocabulary

Only `listener` and `context` may be imported at server start; the listener imports the rest on a thread.
"""
