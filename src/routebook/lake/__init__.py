"""The lake: journals of many NameServers become tables and answers, on Spark."""
