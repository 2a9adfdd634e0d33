"""The lake: builds tables from the journals of many NameServers with Spark, and reads them without a JVM."""
