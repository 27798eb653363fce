print("shards")
