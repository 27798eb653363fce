import tables
from tables import HEADS, NECKS, register


@register("wide")
class Wide:
    pass


def add(table, **more):
    table.update(more)


HEADS["deep"] = 2
tables.MODELS.update(large=3)
add(NECKS, curved=2)
