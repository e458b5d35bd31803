/* This stands in for the theme's own file, a script of 1.5 MB that draws icons
   by code. Here fonts draw them, cut to the icons in use by book_weight.py. */
