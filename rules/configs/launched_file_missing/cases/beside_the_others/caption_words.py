print("words")
