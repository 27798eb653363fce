model = "big"
