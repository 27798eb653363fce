# EasyVolcap 4cb3c00 easyvolcap/utils/egl_utils.py:46
import os

from drawing.ranks import get_rank

os.environ["EGL_DEVICE_ID"] = str(get_rank())


def context():
    return os.environ["EGL_DEVICE_ID"]
