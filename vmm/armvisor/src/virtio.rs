// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The VM's virtio devices: created from the command line, put on the bus, wired to KVM.

use std::fmt::Display;
use std::sync::Arc;

use armvisor_devices::virtio::VirtioDevice;
use armvisor_devices::{IoThread, Platform, QUEUE_NOTIFY, VirtioMmio};

use crate::bus::Bus;
use crate::cli::{NetTo, RunArgs};
use crate::disk;
use crate::hv::kvm::Vm;
use crate::irqfd::Irqfd;
use crate::layout;
use crate::main_loop::Handles;
use crate::memory::Memory;
use crate::outcome::Refusal;
use crate::system::Kept;

/// The devices of a VM, and the handles of those that take requests.
pub struct Attached {
    /// In the order of their places on the bus.
    pub devices: Vec<VirtioMmio>,
    /// Those that take requests.
    pub handles: Handles,
}

/// Makes all devices and wires them up, in the order that names them in the guest.
pub fn attach(
    vm: &Vm,
    bus: &mut Bus,
    io: &IoThread,
    args: &RunArgs,
    memory: &Memory,
    kept: Kept,
) -> anyhow::Result<Attached> {
    let (devices, handles) = make(args, memory, kept)?;
    if devices.len() > layout::VIRTIO_MAX as usize {
        let most = layout::VIRTIO_MAX;
        let problem = format!("a VM has at most {most} devices; use fewer --disk and --net");
        return Err(Refusal::usage("armvisor run", problem).into());
    }
    let platform = Platform {
        access: args.access_platform || args.protected,
        private: memory.private(),
    };
    let mut attached = Vec::new();
    for (index, device) in devices.into_iter().enumerate() {
        attached.push(wire(vm, bus, io, memory, index as u32, device, &platform)?);
    }
    Ok(Attached {
        devices: attached,
        handles,
    })
}

fn host(subject: impl Display) -> impl FnOnce(armvisor_devices::Error) -> Refusal {
    move |error| Refusal::host(subject, error)
}

type Devices = Vec<Box<dyn VirtioDevice>>;

fn make_disks(args: &RunArgs, kept: &mut Kept) -> Result<Devices, Refusal> {
    use armvisor_devices::block::{Block, BlockConfig};

    let mut devices: Devices = Vec::new();
    if let (Some(image), Some(path)) = (kept.image.take(), &args.image) {
        let config = BlockConfig {
            read_only: false,
            id: "armvisor-image".into(),
        };
        let block = Block::with_image(image, config);
        let block = block.map_err(|error| Refusal::file("image", path, error))?;
        devices.push(Box::new(block));
    }
    let files = disk::open_all(&args.disk)?;
    for (index, (arg, file)) in args.disk.iter().zip(files).enumerate() {
        let config = BlockConfig {
            read_only: arg.read_only,
            id: format!("armvisor-disk{index}"),
        };
        let block =
            Block::new(file, config).map_err(|error| Refusal::file("disk", &arg.path, error))?;
        devices.push(Box::new(block));
    }
    if let Some(file) = kept.seed.take() {
        let config = BlockConfig {
            read_only: true,
            id: "armvisor-cloud-init".into(),
        };
        let block = Block::new(file, config).map_err(host("--cloud-init"))?;
        devices.push(Box::new(block));
    }
    Ok(devices)
}

fn make_networks(args: &RunArgs, kept: &Kept, devices: &mut Devices) -> Result<(), Refusal> {
    use armvisor_devices::net::{Net, NetConfig};

    let streams = kept.streams.iter().cloned().chain(std::iter::repeat(None));
    for (arg, stream) in args.net.iter().zip(streams) {
        let net = match (&arg.to, stream) {
            (_, Some(stream)) => Net::with_stream(stream, arg.mac),
            (NetTo::Tap(tap), None) => Net::new(&NetConfig {
                tap: tap.clone(),
                mac: arg.mac,
            }),
            (NetTo::Passt { .. }, None) => {
                return Err(Refusal::host(arg.to.subject(), "was not started"));
            }
        };
        devices.push(Box::new(net.map_err(host(arg.to.subject()))?));
    }
    Ok(())
}

fn make(args: &RunArgs, memory: &Memory, mut kept: Kept) -> Result<(Devices, Handles), Refusal> {
    use armvisor_devices::balloon::{Backing, Balloon};
    use armvisor_devices::button::Button;
    use armvisor_devices::rng::Rng;
    use armvisor_devices::vsock::{Vsock, VsockConfig};

    let mut devices = make_disks(args, &mut kept)?;
    make_networks(args, &kept, &mut devices)?;
    if let Some(arg) = &args.vsock {
        let config = VsockConfig {
            cid: arg.cid.into(),
            uds: arg.uds.clone(),
        };
        let subject = format!("vsock {}", arg.uds.display());
        devices.push(Box::new(Vsock::new(&config).map_err(host(subject))?));
    }
    let mut balloon = None;
    // Memory of a protected VM does not go back to the host before its end.
    if !args.protected {
        let release = Backing::new(memory.guest.clone());
        let (device, control) =
            Balloon::new(&memory.guest, Box::new(release)).map_err(host("balloon"))?;
        devices.push(Box::new(device));
        balloon = Some(control);
    }
    devices.push(Box::new(Rng::default()));
    let (device, button) = Button::new().map_err(host("power button"))?;
    devices.push(Box::new(device));
    Ok((devices, Handles { balloon, button }))
}

fn wire(
    vm: &Vm,
    bus: &mut Bus,
    io: &IoThread,
    memory: &Memory,
    index: u32,
    device: Box<dyn VirtioDevice>,
    platform: &Platform,
) -> anyhow::Result<VirtioMmio> {
    let base = layout::virtio_base(index);
    let interrupt = Arc::new(Irqfd(vm.interrupt(layout::virtio_spi(index))?));
    let guest = memory.guest.clone();
    let name = device.name();
    let device = VirtioMmio::new(device, guest, interrupt, io, platform.clone());
    let device = device.map_err(host(format!("device {name}")))?;
    for (queue, event) in device.queue_events().iter().enumerate() {
        vm.notify(event, base + QUEUE_NOTIFY, queue as u32)?;
    }
    bus.insert(base, armvisor_devices::MMIO_SIZE, Arc::new(device.clone()))?;
    Ok(device)
}
