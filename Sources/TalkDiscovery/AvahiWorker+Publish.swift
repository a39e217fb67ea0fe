import CAvahi
import TalkCore

extension AvahiWorker {
  /// How many of our past instances are remembered as ours.
  private static let ownLimit = 4

  /// Makes what the daemon publishes agree with `wanted`, and tells what has become of it.
  func publish(_ wanted: Publication?) {
    guard let wanted else {
      collided = nil
      return withdraw()
    }
    // Taken by somebody else: another instance has to be chosen.
    guard wanted.instance != collided else { return }
    if wanted != published { put(wanted) }
    guard published == wanted, let group else { return }
    switch unsafe UInt32(bitPattern: avahi_entry_group_get_state(group.pointer)) {
    case AVAHI_ENTRY_GROUP_ESTABLISHED.rawValue:
      guard announced != wanted else { return }
      announced = wanted
      post(.published(instance: wanted.instance))
    case AVAHI_ENTRY_GROUP_COLLISION.rawValue:
      collide(wanted.instance)
    case AVAHI_ENTRY_GROUP_UNCOMMITED.rawValue, AVAHI_ENTRY_GROUP_REGISTERING.rawValue:
      break
    default:
      fail()
    }
  }

  /// Takes back what is published; the group stays for the next time.
  func withdraw() {
    guard let group, published != nil else { return }
    (published, announced) = (nil, nil)
    if unsafe avahi_entry_group_reset(group.pointer) < 0 { fail() }
  }

  private func collide(_ instance: String) {
    collided = instance
    withdraw()
    post(.collision(instance: instance))
  }

  private func put(_ wanted: Publication) {
    if group == nil {
      group = unsafe Handle(avahi_entry_group_new(client?.pointer, groupChanged, nil))
      if group == nil { return fail() }
    }
    if !ownInstances.contains(wanted.instance) {
      ownInstances.append(wanted.instance)
      if ownInstances.count > Self.ownLimit { ownInstances.removeFirst() }
    }
    let isUpdate = published?.instance == wanted.instance && published?.port == wanted.port
    if !isUpdate { withdraw() }
    let code = unsafe TextRecord.withList(wanted.text) { list in
      unsafe isUpdate ? update(wanted, list) : add(wanted, list)
    }
    switch code.map(Int.init) {
    case Int(AVAHI_OK): published = wanted
    case Int(AVAHI_ERR_COLLISION): collide(wanted.instance)
    default: fail()
    }
  }

  private func update(
    _ wanted: Publication, _ list: UnsafeMutablePointer<AvahiStringList>?
  ) -> Int32 {
    unsafe avahi_entry_group_update_service_txt_strlst(
      group?.pointer, avahiAnyInterface, avahiAnyVersion, AvahiPublishFlags(0), wanted.instance,
      serviceType, nil, list)
  }

  private func add(
    _ wanted: Publication, _ list: UnsafeMutablePointer<AvahiStringList>?
  ) -> Int32 {
    let code = unsafe avahi_entry_group_add_service_strlst(
      group?.pointer, avahiAnyInterface, avahiAnyVersion, AvahiPublishFlags(0), wanted.instance,
      serviceType, nil, nil, wanted.port, list)
    return code < 0 ? code : unsafe avahi_entry_group_commit(group?.pointer)
  }
}

/// AvahiEntryGroupCallback: the state is read after each turn.
private func groupChanged(
  _: OpaquePointer?, _: AvahiEntryGroupState, _: UnsafeMutableRawPointer?
) {}
