print("a part")
