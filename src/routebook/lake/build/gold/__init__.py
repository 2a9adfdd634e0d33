"""The tables that people ask: each a declared schema and a pure function from DataFrames to a DataFrame."""
