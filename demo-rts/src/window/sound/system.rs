//! The sound device of Windows (WASAPI) and macOS (Core Audio). Linux needs a package of the system for as much: there
//! the sound server is spoken to instead.

use super::synth::RATE;
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, Error, ErrorKind, StreamConfig};
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};

/// What the system plays, until this is dropped.
pub struct Stream {
    _playing: cpal::Stream,
    ends: Receiver<Error>,
}

impl Stream {
    /// Has the system play what `fill` writes, left and right in turn, each sample from -1 to 1, at [`RATE`]. The system
    /// converts it to what the device wants.
    ///
    /// # Errors
    /// Where there is no device, or it is not to be had, in words.
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
                        // The first one ends it.
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

    /// Why the system plays no more, if so.
    pub fn ended(&self) -> Option<io::Error> {
        self.ends.try_recv().ok().map(io::Error::other)
    }
}
