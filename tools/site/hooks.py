"""What MkDocs does beside its own work."""

import pathlib


def on_post_build(config):
    """Puts search_words.js before the theme's search worker."""
    words = pathlib.Path(__file__).with_name("search_words.js").read_text()
    (worker,) = pathlib.Path(config["site_dir"], "assets/javascripts/workers").glob("search.*.min.js")
    worker.write_text(words + worker.read_text())
