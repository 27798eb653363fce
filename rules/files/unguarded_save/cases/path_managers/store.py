from iopath.common.file_io import PathManager as _PathManager

PathManager = _PathManager()
