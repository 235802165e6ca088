// Exit 0 if this node can build the extension (20.19 or newer).
const [major, minor] = process.versions.node.split('.').map(Number);
process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1);
