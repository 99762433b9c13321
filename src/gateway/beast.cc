// Beast's functions that are no templates: the rest of the program only declares them.
#include <boost/beast/src.hpp>
