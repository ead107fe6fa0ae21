-- Several calls in one: see lib/together. For those that may add to what is stored.

register('together', ff.together)
