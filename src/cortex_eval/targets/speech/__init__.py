"""Speaking and hearing: sound as WAV, text to speech, speech to text."""

from cortex_eval.targets.speech.booths import Voices, open_voices, speech_missing
from cortex_eval.targets.speech.engines import EngineError, Listener, Speaker, Transcript, engine_trouble
from cortex_eval.targets.speech.wave import Audio, NotAudioError, read_wav, wav_header

__all__ = [
    "Audio",
    "EngineError",
    "Listener",
    "NotAudioError",
    "Speaker",
    "Transcript",
    "Voices",
    "engine_trouble",
    "open_voices",
    "read_wav",
    "speech_missing",
    "wav_header",
]
