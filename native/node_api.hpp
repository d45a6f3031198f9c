// The only way this folder includes Node-API, so that every file sees the same settings.
#pragma once

#if !defined(NAPI_DISABLE_CPP_EXCEPTIONS) || !defined(NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED)
#error "The build sets NAPI_VERSION, NAPI_DISABLE_CPP_EXCEPTIONS and NODE_API_NO_EXTERNAL_..."
#endif

#include <napi.h>
