import os


def remove(path):
    # the engine has made a folder
    if os.path.isfile(path):
        os.remove(path)
