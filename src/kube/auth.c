/* Credentials as of now. */
#include "kube/auth.h"
