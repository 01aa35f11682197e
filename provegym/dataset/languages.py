"""Which language a text is in, and what people call the languages that can be told."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from provegym.errors import UnknownName

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SURE = 0.8
"""Below this confidence a language is not held against a text: short ones and names have less (at
0.5, six of 13,000 English turns would fail)."""

NAMES: dict[str, tuple[str, ...]] = {
    **{"Afrikaans": ("af", "nl"), "Albanian": ("sq",), "Amharic": ("am",), "Arabic": ("ar",)},
    **{"Armenian": ("hy",), "Azerbaijani": ("az",), "Basque": ("eu",), "Belarusian": ("be",)},
    **{"Bengali": ("bn",), "Bosnian": ("bs", "hr", "sr"), "Bulgarian": ("bg",)},
    **{"Burmese": ("my",), "Cantonese": ("yue", "zh"), "Catalan": ("ca",)},
    **{"Chinese": ("zh", "yue", "wuu"), "Croatian": ("hr", "bs", "sr"), "Czech": ("cs", "sk")},
    **{"Danish": ("da", "no"), "Dutch": ("nl", "af"), "English": ("en",), "Estonian": ("et",)},
    **{"Finnish": ("fi",), "French": ("fr",), "Galician": ("gl", "pt"), "Georgian": ("ka",)},
    **{"German": ("de", "lb"), "Greek": ("el",), "Gujarati": ("gu",), "Hausa": ("ha",)},
    **{"Hebrew": ("he",), "Hindi": ("hi",), "Hungarian": ("hu",), "Icelandic": ("is", "fo")},
    **{"Igbo": ("ig",), "Indonesian": ("id", "ms"), "Irish": ("ga",), "Italian": ("it",)},
    **{"Japanese": ("ja",), "Javanese": ("jv", "id"), "Kannada": ("kn",), "Kazakh": ("kk",)},
    **{"Khmer": ("km",), "Korean": ("ko",), "Kurdish": ("ku",), "Kyrgyz": ("ky",), "Lao": ("lo",)},
    **{"Latvian": ("lv", "ltg"), "Lithuanian": ("lt",), "Macedonian": ("mk", "bg")},
    **{"Malay": ("ms", "id"), "Malayalam": ("ml",), "Maltese": ("mt",), "Mandarin": ("zh",)},
    **{"Marathi": ("mr", "hi"), "Mongolian": ("mn",), "Nepali": ("ne", "hi")},
    **{"Norwegian": ("no", "nn", "da"), "Pashto": ("ps",), "Persian": ("fa",), "Polish": ("pl",)},
    **{"Portuguese": ("pt", "gl"), "Punjabi": ("pa",), "Romanian": ("ro",), "Russian": ("ru",)},
    **{"Serbian": ("sr", "hr", "bs"), "Sinhala": ("si",), "Slovak": ("sk", "cs")},
    **{"Slovenian": ("sl",), "Somali": ("so",), "Spanish": ("es",), "Swahili": ("sw",)},
    **{
        "Swedish": ("sv",),
        "Tagalog": ("tl",),
        "Tamil": ("ta",),
        "Telugu": ("te",),
        "Thai": ("th",),
    },
    **{"Turkish": ("tr",), "Ukrainian": ("uk",), "Urdu": ("ur",), "Uzbek": ("uz",)},
    **{"Vietnamese": ("vi",), "Welsh": ("cy",), "Xhosa": ("xh",), "Yoruba": ("yo",)},
    **{"Zulu": ("zu",)},
}
"""ISO 639 codes by English name; with its near relatives, which short texts are taken for."""


def named(name: str) -> tuple[str, ...]:
    """Codes of the languages whose names are words of the text ("Brazilian Portuguese").

    Raises `UnknownName` where there is none.
    """
    words = set(re.findall(r"\w+", name.title()))
    found = tuple(code for known, codes in NAMES.items() if known in words for code in codes)
    if not found:
        raise UnknownName("language", name, list(NAMES))
    return found


def known_languages(codes: str) -> tuple[str, ...]:
    """Codes from a list with commas between. Raises `UnknownName` for one that is never found."""
    wanted, known = tuple(map(str.strip, codes.split(","))), sorted(_identifier().labels)
    for code in wanted:
        if code not in known:
            raise UnknownName("language", code, known)
    return wanted


def surely(text: str) -> str:
    """The code of the language that a text is in, "" where that is not sure; what stands in quotes
    does not count.
    """
    spoken = re.sub(r'"[^"]*"|“[^”]*”', " ", text)
    language, confidence = _identifier().classify(spoken)
    return str(language) if confidence >= SURE else ""


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
