"""HTTP below the application: uvicorn protocol classes, host and origin checks, static files."""
