"""A report as one HTML file: nothing is loaded from outside, charts are drawn here, light and dark come with it."""
