from drawing.screen import context

print(context())
