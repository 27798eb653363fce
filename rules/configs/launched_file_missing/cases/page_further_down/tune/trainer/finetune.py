print("tunes")
