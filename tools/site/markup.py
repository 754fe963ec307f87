"""Comments and docstrings as HTML that Markdown leaves as it is."""

import html
import re


def paragraphs(text):
    """Paragraphs; what is indented, and what an interpreter shows, as it stands."""
    out = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if re.match(r"\s{2}|>>> ", part):
            out.append(f"<pre>{html.escape(part, quote=False)}</pre>")
        elif part:
            escaped = html.escape(part, quote=False)
            out.append("<p>" + re.sub(r"(`+)([^`]+)\1", r"<code>\2</code>", escaped) + "</p>")
    return "\n".join(out)


def declaration(code):
    """Declarations in a box. An empty line would end HTML in Markdown: it gets a space."""
    return f'<pre class="declaration"><code>{html.escape(code, quote=False)}</code></pre>'.replace("\n\n", "\n \n")
