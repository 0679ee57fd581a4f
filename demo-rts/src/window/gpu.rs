//! Draws a canvas on the graphics card: one shader, one stream of triangles, few draw calls.

use super::canvas::{Canvas, Drawn, Mesh, Picture, Vertex};
use miniquad::{
    BlendFactor, BlendState, BlendValue, BufferId, BufferLayout, BufferSource, BufferType,
    BufferUsage, Equation, FilterMode, PassAction, Pipeline, PipelineParams, RenderingBackend,
    ShaderMeta, ShaderSource, TextureAccess, TextureFormat, TextureId, TextureParams,
    TextureSource, UniformBlockLayout, UniformDesc, UniformType, UniformsSource, VertexAttribute,
    VertexFormat,
};

/// The graphics card, and what it holds of a canvas.
pub struct Gpu {
    card: Box<dyn RenderingBackend>,
    pipeline: Pipeline,
    stream: Option<Triangles>,
    letters: Option<(u16, TextureId)>,
    pictures: Vec<Option<(u16, u16, TextureId)>>,
    meshes: Vec<Option<Triangles>>,
}

/// Buffers, with their capacity in vertices and indices.
#[derive(Clone, Copy)]
struct Triangles {
    vertices: BufferId,
    indices: BufferId,
    room: (usize, usize),
    used: usize,
}

#[repr(C)]
struct Uniforms {
    /// Factors and offsets from local to clip coordinates.
    place: [f32; 4],
}

impl Gpu {
    /// Needs an open window.
    ///
    /// # Errors
    /// The card's message about the shader.
    pub fn new() -> Result<Gpu, miniquad::ShaderError> {
        let mut card = miniquad::window::new_rendering_backend();
        let uniforms = vec![UniformDesc::new("place", UniformType::Float4)];
        let meta = ShaderMeta {
            images: vec!["picture".to_owned()],
            uniforms: UniformBlockLayout { uniforms },
        };
        let source = ShaderSource::Glsl {
            vertex: VERTEX,
            fragment: FRAGMENT,
        };
        let shader = card.new_shader(source, meta)?;
        let over = BlendState::new(
            Equation::Add,
            BlendFactor::Value(BlendValue::SourceAlpha),
            BlendFactor::OneMinusValue(BlendValue::SourceAlpha),
        );
        // The window stays opaque: browsers, and some desktops, would let the background through.
        let solid = BlendState::new(
            Equation::Add,
            BlendFactor::One,
            BlendFactor::OneMinusValue(BlendValue::SourceAlpha),
        );
        let pipeline = card.new_pipeline(
            &[BufferLayout::default()],
            &[
                VertexAttribute::new("at", VertexFormat::Float2),
                VertexAttribute::new("texel", VertexFormat::Short2),
                VertexAttribute::new("tint", VertexFormat::Byte4),
            ],
            shader,
            PipelineParams {
                color_blend: Some(over),
                alpha_blend: Some(solid),
                ..PipelineParams::default()
            },
        );
        Ok(Gpu {
            card,
            pipeline,
            stream: None,
            letters: None,
            pictures: Vec::new(),
            meshes: Vec::new(),
        })
    }

    pub fn draw(&mut self, canvas: &mut Canvas, ground: [f32; 3]) {
        self.bring_kept(canvas);
        let (vertices, indices) = canvas.triangles();
        let fresh = place(self.card.as_mut(), self.stream.take(), vertices, indices);
        self.stream = Some(fresh);
        let [red, green, blue] = ground;
        self.card
            .begin_default_pass(PassAction::clear_color(red, green, blue, 1.0));
        self.card.apply_pipeline(&self.pipeline);
        let (width, height) = canvas.size();
        for batch in canvas.batches() {
            let (left, top) = (batch.clip.x.floor(), batch.clip.y.floor());
            let (right, bottom) = (batch.clip.right().ceil(), batch.clip.bottom().ceil());
            let (wide, high) = ((right - left) as i32, (bottom - top) as i32);
            if wide <= 0 || high <= 0 {
                continue;
            }
            let under = height as i32 - bottom as i32;
            self.card.apply_scissor_rect(left as i32, under, wide, high);
            self.draw_batch(batch.drawn, (width, height));
        }
        self.card.end_render_pass();
        self.card.commit_frame();
    }

    fn draw_batch(&mut self, drawn: Drawn, (width, height): (f32, f32)) {
        let letters = self.letters.map(|(_, texture)| texture);
        let (triangles, texture, first, count, scale, origin) = match drawn {
            Drawn::Shapes { first, end } => {
                (self.stream, letters, first, end - first, 1.0, (0.0, 0.0))
            }
            Drawn::Picture {
                picture,
                first,
                end,
            } => {
                let texture = self.pictures.get(picture.place()).copied().flatten();
                let texture = texture.map(|(_, _, texture)| texture);
                (self.stream, texture, first, end - first, 1.0, (0.0, 0.0))
            }
            Drawn::Kept {
                mesh,
                scale,
                origin,
            } => {
                let kept = self.meshes.get(mesh.place()).copied().flatten();
                let count = kept.map_or(0, |kept| kept.used);
                (kept, letters, 0, count, scale, origin)
            }
        };
        let (Some(triangles), Some(texture)) = (triangles, texture) else {
            return;
        };
        if count == 0 {
            return;
        }
        self.card
            .apply_bindings_from_slice(&[triangles.vertices], triangles.indices, &[texture]);
        let uniforms = Uniforms {
            place: [
                2.0 * scale / width,
                -2.0 * scale / height,
                2.0 * origin.0 / width - 1.0,
                1.0 - 2.0 * origin.1 / height,
            ],
        };
        self.card.apply_uniforms(UniformsSource::table(&uniforms));
        self.card.draw(first as i32, count as i32, 1);
    }

    fn bring_kept(&mut self, canvas: &mut Canvas) {
        let (letters, pictures, meshes) = canvas.kept();
        let edge = letters.edge();
        if let Some((first, lines, alpha)) = letters.take_changed() {
            let rgba: Vec<u8> = alpha.iter().flat_map(|a| [255, 255, 255, *a]).collect();
            match self.letters {
                Some((known, texture)) if known == edge => {
                    let (wide, high) = (i32::from(edge), i32::from(lines));
                    self.card
                        .texture_update_part(texture, 0, i32::from(first), wide, high, &rgba);
                }
                old => {
                    if let Some((_, texture)) = old {
                        self.card.delete_texture(texture);
                    }
                    let made = texture(self.card.as_mut(), edge, edge, &rgba, false);
                    self.letters = Some((edge, made));
                }
            }
        }
        self.pictures.resize(pictures.len(), None);
        for (kept, picture) in self.pictures.iter_mut().zip(pictures) {
            bring_picture(self.card.as_mut(), kept, picture);
        }
        self.meshes.resize(meshes.len(), None);
        for (kept, mesh) in self.meshes.iter_mut().zip(meshes) {
            if std::mem::take(&mut mesh.changed) {
                *kept = bring_mesh(self.card.as_mut(), kept.take(), mesh);
            }
        }
    }
}

fn bring_picture(
    card: &mut dyn RenderingBackend,
    kept: &mut Option<(u16, u16, TextureId)>,
    picture: &mut Picture,
) {
    let pixels = usize::from(picture.width) * usize::from(picture.height);
    if !std::mem::take(&mut picture.changed) || picture.rgba.len() != pixels * 4 {
        return;
    }
    if pixels == 0 {
        if let Some((_, _, texture)) = kept.take() {
            card.delete_texture(texture);
        }
        return;
    }
    match *kept {
        Some((width, height, texture)) if (width, height) == (picture.width, picture.height) => {
            card.texture_update(texture, &picture.rgba);
        }
        old => {
            if let Some((_, _, texture)) = old {
                card.delete_texture(texture);
            }
            let (width, height) = (picture.width, picture.height);
            let made = texture(card, width, height, &picture.rgba, picture.smooth);
            *kept = Some((width, height, made));
        }
    }
}

fn bring_mesh(
    card: &mut dyn RenderingBackend,
    kept: Option<Triangles>,
    mesh: &Mesh,
) -> Option<Triangles> {
    if mesh.indices.is_empty() {
        if let Some(old) = kept {
            card.delete_buffer(old.vertices);
            card.delete_buffer(old.indices);
        }
        return None;
    }
    Some(place(card, kept, &mesh.vertices, &mesh.indices))
}

fn texture(
    card: &mut dyn RenderingBackend,
    width: u16,
    height: u16,
    rgba: &[u8],
    smooth: bool,
) -> TextureId {
    let filter = if smooth {
        FilterMode::Linear
    } else {
        FilterMode::Nearest
    };
    let params = TextureParams {
        format: TextureFormat::RGBA8,
        min_filter: filter,
        mag_filter: filter,
        width: u32::from(width),
        height: u32::from(height),
        ..TextureParams::default()
    };
    card.new_texture(TextureAccess::Static, TextureSource::Bytes(rgba), params)
}

/// Writes triangles into these buffers, or into larger ones where they do not fit.
fn place(
    card: &mut dyn RenderingBackend,
    kept: Option<Triangles>,
    vertices: &[Vertex],
    indices: &[u32],
) -> Triangles {
    let fits = |kept: &Triangles| kept.room.0 >= vertices.len() && kept.room.1 >= indices.len();
    let mut triangles = match kept {
        Some(kept) if fits(&kept) => kept,
        old => {
            if let Some(old) = old {
                card.delete_buffer(old.vertices);
                card.delete_buffer(old.indices);
            }
            let room = (
                vertices.len().next_power_of_two().max(LEAST_ROOM),
                indices.len().next_power_of_two().max(LEAST_ROOM),
            );
            Triangles {
                vertices: card.new_buffer(
                    BufferType::VertexBuffer,
                    BufferUsage::Stream,
                    BufferSource::empty::<Vertex>(room.0),
                ),
                indices: card.new_buffer(
                    BufferType::IndexBuffer,
                    BufferUsage::Stream,
                    BufferSource::empty::<u32>(room.1),
                ),
                room,
                used: 0,
            }
        }
    };
    triangles.used = indices.len();
    if !indices.is_empty() {
        card.buffer_update(triangles.vertices, BufferSource::slice(vertices));
        card.buffer_update(triangles.indices, BufferSource::slice(indices));
    }
    triangles
}

const LEAST_ROOM: usize = 256;
const VERTEX: &str = "#version 100
attribute vec2 at;
attribute vec2 texel;
attribute vec4 tint;
varying highp vec2 spot;
varying lowp vec4 colour;
uniform vec4 place;
void main() {
    gl_Position = vec4(at * place.xy + place.zw, 0.0, 1.0);
    spot = texel / 65535.0;
    colour = tint / 255.0;
}";
const FRAGMENT: &str = "#version 100
varying highp vec2 spot;
varying lowp vec4 colour;
uniform sampler2D picture;
void main() {
    gl_FragColor = colour * texture2D(picture, spot);
}";
