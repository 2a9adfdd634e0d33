"""HTTP below the application: uvicorn subclasses, ASGI helpers, host and origin checks, static files."""
