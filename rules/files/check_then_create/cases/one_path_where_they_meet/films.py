import os
import shutil


def put_together(film, sound):
    base, suffix = os.path.splitext(film)
    beside = f"{base}_beside{suffix}"
    try:
        shutil.copy(sound, beside)
        shutil.move(beside, film)
    except OSError:
        if os.path.exists(beside):
            os.remove(beside)  # expect: DL305
