from shapes import area

SQUARE = area(2, 2)
