// The only way this folder includes Node-API, so that every file sees the same settings.
#pragma once

#if !defined(NAPI_DISABLE_CPP_EXCEPTIONS)
#error "The build sets NAPI_VERSION and NAPI_DISABLE_CPP_EXCEPTIONS."
#endif

#include <js_native_api_types.h>
#include <napi.h>
