//! The sound device of Windows (WASAPI) and macOS (Core Audio). On Linux such access would need a system library to
//! build, so `pulse` talks to the sound server instead.

use super::synth::RATE;
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, Error, ErrorKind, StreamConfig};
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};

/// A playback stream; dropping it ends it.
pub struct Stream {
    _playing: cpal::Stream,
    ends: Receiver<Error>,
}

impl Stream {
    /// Plays what `fill` writes: left and right interleaved, from -1 to 1, at [`RATE`]. The system converts it for
    /// the device.
    ///
    /// # Errors
    /// No device, or a refusal.
    pub fn open(mut fill: impl FnMut(&mut [f32]) + Send + 'static) -> io::Result<Stream> {
        let device = cpal::default_host().default_output_device();
        let device = device.ok_or_else(|| io::Error::other("no audio device"))?;
        let config = StreamConfig {
            channels: 2,
            sample_rate: RATE,
            buffer_size: BufferSize::Default,
        };
        let (end, ends) = sync_channel(1);
        let playing = device
            .build_output_stream(
                config,
                move |samples: &mut [f32], _: &_| fill(samples),
                move |error: Error| {
                    let goes_on = [
                        ErrorKind::DeviceChanged,
                        ErrorKind::RealtimeDenied,
                        ErrorKind::Xrun,
                    ];
                    if !goes_on.contains(&error.kind()) {
                        // The first error ends the stream.
                        let _ = end.try_send(error);
                    }
                },
                None,
            )
            .map_err(io::Error::other)?;
        playing.play().map_err(io::Error::other)?;
        Ok(Stream {
            _playing: playing,
            ends,
        })
    }

    /// Why the stream has ended, if so.
    pub fn ended(&self) -> Option<io::Error> {
        self.ends.try_recv().ok().map(io::Error::other)
    }
}
