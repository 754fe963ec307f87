// The name of a node as users see it.
#pragma once

namespace neura {

struct Node;

// The operation's name; "clone" where `to` only copies.
const char* node_name(const Node&);

}  // namespace neura
