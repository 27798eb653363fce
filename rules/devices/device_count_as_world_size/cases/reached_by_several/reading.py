class Reader:
    def read(self, path):
        return open(path).readlines()
