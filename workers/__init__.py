"""What runs where: settings, composition and the embedded control plane's processes."""
