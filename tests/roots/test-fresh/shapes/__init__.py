from .plane import area
