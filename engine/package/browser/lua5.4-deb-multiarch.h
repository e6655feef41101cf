/* Debian's Lua asks for this to find C modules, of which a browser has none. */
#define DEB_HOST_MULTIARCH "none"
