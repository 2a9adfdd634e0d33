"""The archive: rolled journal segments in object storage, or in a folder, one prefix per NameServer.

    PREFIX/{ns}/{segment}          the segment's own name: the same segment always has the same key and the same bytes

`store` reads and writes objects, `uploader` uploads segments as they are rolled, `restore` downloads them.
"""
