"""The HTML report: one self-contained page with SVG charts."""
