"""From syntax to traces: what each class of ranks does. Knows no rule."""
