// The functions of Asio and Beast that are no templates: the rest of the program only declares them.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
