"""A package of the project that a chapter imports."""


def area(width, height):
    return width * height
