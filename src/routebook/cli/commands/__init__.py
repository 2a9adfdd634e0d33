"""One module per command; `routebook.cli.app` lists them."""
