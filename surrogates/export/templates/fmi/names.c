/* Names begin with the model's, so that several can be linked into one program, unless the
   importer says that it builds a shared library, itself or through CMake. */
#if !defined(FMIX_OVERRIDE_FUNCTION_PREFIX) && !defined(surrogate_EXPORTS)
#if !defined(FMIX_FUNCTION_PREFIX)
#define FMIX_FUNCTION_PREFIX surrogate_
#endif
#define FMIX_ACTUAL_FUNCTION_PREFIX FMIX_FUNCTION_PREFIX
#endif
#define SURROGATE_PASTE(a, b) a##b
#define SURROGATE_PASTED(a, b) SURROGATE_PASTE(a, b)
#if defined(FMIX_ACTUAL_FUNCTION_PREFIX)
#define SURROGATE_NAME(name) SURROGATE_PASTED(FMIX_ACTUAL_FUNCTION_PREFIX, name)
#define SURROGATE_EXPORT
#else
#define SURROGATE_NAME(name) name
#if defined(_WIN32)
#define SURROGATE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define SURROGATE_EXPORT __attribute__((visibility("default")))
#else
#define SURROGATE_EXPORT
#endif
#endif
#define SURROGATE_FMI(type, name) SURROGATE_EXPORT type SURROGATE_NAME(fmiX##name)
