"""JSON as fastjson2 2.0.59 reads it."""
