"""A small OpenSim model with articular contact, and the model with an ankle."""

MODEL = """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40000"><Model name="m">
<BodySet><objects><Body name="femur"/><Body name="tibia"/></objects></BodySet>
<JointSet><objects>
<CustomJoint name="knee">
  <socket_parent_frame>femur_offset</socket_parent_frame>
  <socket_child_frame>/bodyset/tibia</socket_child_frame>
  <coordinates><Coordinate name="flex"/><Coordinate name="ty"/></coordinates>
  <frames><PhysicalOffsetFrame name="femur_offset">
    <socket_parent>/bodyset/femur</socket_parent>
    <translation>0.01 0.02 0.03</translation><orientation>0 0 1.5707963267948966</orientation>
  </PhysicalOffsetFrame></frames>
  <SpatialTransform>
    <TransformAxis name="rotation1"><coordinates>flex</coordinates><axis>0 0 2</axis>
      <LinearFunction><coefficients>-1 0.5</coefficients></LinearFunction></TransformAxis>
    <TransformAxis name="rotation2"><coordinates/><axis>1 0 0</axis>
      <Constant><value>0.25</value></Constant></TransformAxis>
    <TransformAxis name="rotation3"><coordinates/><axis>0 1 0</axis>
      <Constant><value>0</value></Constant></TransformAxis>
    <TransformAxis name="translation1"><coordinates/><axis>1 0 0</axis>
      <Constant><value>0</value></Constant></TransformAxis>
    <TransformAxis name="translation2"><coordinates>ty</coordinates><axis>0 1 0</axis>
      <MultiplierFunction><function><LinearFunction><coefficients>1 0.1</coefficients>
      </LinearFunction></function><scale>3</scale></MultiplierFunction></TransformAxis>
    <TransformAxis name="translation3"><coordinates/><axis>0 0 1</axis>
      <Constant><value>0</value></Constant></TransformAxis>
  </SpatialTransform>
</CustomJoint></objects></JointSet>
<ContactGeometrySet><objects>
<Smith2018ContactMesh name="bed"><socket_frame>/bodyset/tibia</socket_frame>
  <location>0 0 0.5</location><orientation>0 0 0</orientation><mesh_file>bed.stl</mesh_file>
  <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.4</poissons_ratio>
  <thickness>0.002</thickness></Smith2018ContactMesh>
<Smith2018ContactMesh name="target"><socket_frame>/bodyset/femur</socket_frame>
  <mesh_file>target.stl</mesh_file><use_variable_thickness>true</use_variable_thickness>
  <mesh_back_file>bone.stl</mesh_back_file><scale_factors>1 2 3</scale_factors>
</Smith2018ContactMesh></objects></ContactGeometrySet>
<ForceSet><objects>
<Smith2018ArticularContactForce name="tf"><appliesForce>true</appliesForce>
  <socket_target_mesh>/contactgeometryset/target</socket_target_mesh>
  <socket_casting_mesh>/contactgeometryset/bed</socket_casting_mesh>
  <elastic_foundation_formulation>nonlinear</elastic_foundation_formulation>
  <use_lumped_contact_model>false</use_lumped_contact_model></Smith2018ArticularContactForce>
<Smith2018ArticularContactForce name="off"><appliesForce>false</appliesForce>
</Smith2018ArticularContactForce>
<PathActuator name="kept"><GeometryPath><PathWrapSet><objects><PathWrap name="w">
  <wrap_object>cylinder</wrap_object></PathWrap></objects></PathWrapSet></GeometryPath>
</PathActuator></objects></ForceSet>
</Model></OpenSimDocument>"""
#: The ankle is far from the contact; its second coordinate is coupled.
ANKLE = """<CustomJoint name="ankle"><coordinates><Coordinate name="bend"/>
<Coordinate name="roll"/><Coordinate name="fixed"><locked>true</locked></Coordinate></coordinates>
</CustomJoint></objects></JointSet><ConstraintSet><objects>
<CoordinateCouplerConstraint name="coupler"><isEnforced>true</isEnforced>
<dependent_coordinate_name>roll</dependent_coordinate_name></CoordinateCouplerConstraint>
<CoordinateCouplerConstraint name="off"><isEnforced>false</isEnforced>
<dependent_coordinate_name>bend</dependent_coordinate_name></CoordinateCouplerConstraint>
</objects></ConstraintSet>"""
LEG = MODEL.replace("</CustomJoint></objects></JointSet>", f"</CustomJoint>{ANKLE}")


def ligament(name, ends, slack, stiffness, more=""):
    """A ligament through points of frames [m], with slack length [m] and stiffness [N]."""
    points = "".join(
        f"<PathPoint><socket_parent_frame>{frame}</socket_parent_frame><location>"
        f"{' '.join(map(repr, map(float, at)))}</location></PathPoint>"
        for frame, at in ends
    )
    return (
        f'<Blankevoort1991Ligament name="{name}"><GeometryPath><PathPointSet><objects>{points}'
        f"</objects></PathPointSet>{more}</GeometryPath><linear_stiffness>{stiffness!r}"
        f"</linear_stiffness><slack_length>{slack!r}</slack_length></Blankevoort1991Ligament>"
    )
