print("evaluates")
