print("count")
