"""Media: what was said in a recording or stands in a picture. The medium is where to look, not what to look for."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, pointing_to, words

SPOKEN = r"(?:talk|lecture|keynote|podcast|episode|interview|video|recording|webinar|voice\s+memo|clip|presentation)"
SEEN = r"(?:screenshot|photo(?:graph)?|scan|whiteboard|picture|image)"

MEDIA = Family(
    name="media",
    title="Media transcript or OCR",
    asks="What somebody said in a talk, video or recording, or what is written in a picture.",
    patterns=patterns(
        rf"\b(?:in|from|during|at|of)\s+(?:the\s+|that\s+|this\s+|my\s+|an?\s+|his\s+|her\s+|their\s+)?"
        rf"(?P<name>(?:[@\w.'’-]+\s+){{0,4}}?){SPOKEN}s?\b(?!\s+(?:to|with)\b)",
        rf"\b(?:in|from|on)\s+(?:the\s+|that\s+|this\s+|my\s+|an?\s+)?(?P<name>(?:[\w.'’-]+\s+){{0,3}}?){SEEN}s?\b",
        rf"\b(?:do|does|did|has|have)\s+(?:the|that|this|my|his|her|their)\s+(?P<name>(?:[@\w.'’-]+\s+){{0,3}}?)"
        rf"(?:{SPOKEN}|{SEEN})s?\s+(?:say|said|show|explain|mention|tell|claim|teach|cover|talk|recommend|suggest|advise)\b",
        rf"\b(?:which|what)\s+(?:{SPOKEN}|{SEEN})s?\b",
        r"\b(?:transcripts?|subtitles|captions|ocr)\b",
        r"\bat\s+(?:what|which)\s+(?:time|minute|point|timestamp)\b.*\b(?:say|says|said|mention|mentions|talk|speak)\b",
        r"\b(?:im|in\s+dem|aus\s+dem)\s+(?:vortrag|video|podcast|interview|screenshot|foto)\b",
        r"\b(?:dans|de)\s+(?:la|le|l['’])\s*(?:conférence|vidéo|podcast|entretien|capture|photo)\b",
        r"\b(?:en|de)\s+(?:la|el)\s+(?:charla|vídeo|video|podcast|entrevista|captura|foto)\b",
    ),
    cleanup=words(
        """talk talks lecture keynote podcast episode interview video videos recording recordings webinar clip transcript
        transcripts subtitles captions ocr screenshot screenshots photo photos picture pictures image images scan scans
        presentation timestamp minute speaker vortrag conférence vidéo charla vídeo"""
    ),
    variants=(VariantRule("topic", "{rest}", 0.9),),
    sources={
        **pointing_to(
            ("transcript", "youtube"),
            """talk talks lecture keynote podcast episode interview video videos recording recordings webinar clip
            transcript transcripts subtitles captions vortrag conférence vidéo charla vídeo presentation""",
        ),
        **pointing_to(
            ("image",),
            "screenshot screenshots photo photos picture pictures image images scan scans ocr whiteboard foto captura",
        ),
    },
    examples=(
        "In Ilse Brandvold's talk, what happens to the replica of a boat that sinks?",
        "What does the podcast say about tidal datums?",
        "Which video explains breather filters?",
        "What is written in the screenshot of the error?",
        "At what minute does she mention the clinic?",
    ),
)
