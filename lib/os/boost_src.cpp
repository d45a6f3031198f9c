// Compiles the parts of Asio and Beast that need not be in headers, once.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
