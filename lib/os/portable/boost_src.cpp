// Compiles the parts of Asio that need not be in headers, once.
#include <boost/asio/impl/src.hpp>
